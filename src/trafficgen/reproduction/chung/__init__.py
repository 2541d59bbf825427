"""RealPlayer 8 over UDP and TCP as measured by Chung, Zhu and Claypool (CCZ02, CCZ03)."""
