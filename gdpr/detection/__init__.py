"""Names, addresses and numbers of people in texts, found without a list of them."""
