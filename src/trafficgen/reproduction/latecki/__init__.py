"""Two-stream rate control of Latecki, Jin and Mulik (LJM)."""
