"""The grammar of expressions of time; ``question_time`` uses it. Pure."""
