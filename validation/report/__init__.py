"""What a person looks at: figures, pages, the report."""
