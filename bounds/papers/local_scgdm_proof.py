"""Local-SCGDM: `proved` statements composed from the printed lemmas; see docs/theory/local_scgdm.md."""
