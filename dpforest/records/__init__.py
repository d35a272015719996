"""Records: tables in memory, streams of them, and the queries that count them; secret."""
