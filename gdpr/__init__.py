"""Personal data: who is named where, requests, holds, erasure and its certificate."""
