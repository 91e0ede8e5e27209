"""The methods of the papers, one file each."""
