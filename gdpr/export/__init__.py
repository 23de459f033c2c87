"""Access exports: collect what is about a person, bundle it, store it."""
