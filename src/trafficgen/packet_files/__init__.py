"""Write packet tables to files: pcap, pcapng, CSV, Parquet, and datasets of Parquet files."""
