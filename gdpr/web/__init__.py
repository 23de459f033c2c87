"""The pages of personal data requests: views, forms and URLs."""
