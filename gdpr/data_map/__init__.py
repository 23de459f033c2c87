"""Every place where personal data is stored, one class (holder) each."""
