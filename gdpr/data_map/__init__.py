"""Every resting place of personal data, one class each."""
