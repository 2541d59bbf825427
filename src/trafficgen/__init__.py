"""trafficgen: measured captures calibrate models of streaming sources; the models emit traffic like the real thing."""
