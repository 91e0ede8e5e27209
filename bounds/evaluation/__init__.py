"""A declaration, or a method on an instance, evaluated: exactly, or in ball arithmetic."""
