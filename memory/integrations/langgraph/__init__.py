"""LangGraph's store API over records."""
