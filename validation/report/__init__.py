"""What a person looks at: figures, pages, the gallery, the report."""
