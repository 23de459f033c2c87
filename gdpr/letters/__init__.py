"""Letters to a person about their case: templates, drafts, sealed copies, sending."""
