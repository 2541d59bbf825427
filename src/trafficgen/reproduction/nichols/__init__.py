"""Windows Media 9 as measured by Nichols (NIC04): testbed, measures and experiments."""
