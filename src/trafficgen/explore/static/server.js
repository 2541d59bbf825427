// Requests to the server; of simulations only the newest matters.

const AGAIN_MS = 200;
let newest = null;

export class Refused extends Error {
  constructor(message, control) {
    super(message);
    this.control = control;
  }
}

async function answerOf(response) {
  const isJson = (response.headers.get("content-type") ?? "").startsWith("application/json");
  const answer = isJson ? await response.json() : { error: await response.text() };
  if (!response.ok)
    throw new Refused(
      answer.error || `the server answered ${response.status}`,
      answer.control ?? null,
    );
  return answer;
}

/** Return what can be chosen. */
export async function choices() {
  return answerOf(await fetch("/api/models"));
}

/**
 * Return the result of a simulation and how long the server took, ms; null when a newer one
 * replaced it.
 */
export async function simulate(request) {
  newest?.abort();
  const mine = new AbortController();
  newest = mine;
  try {
    for (;;) {
      const response = await fetch("/api/simulate", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(request),
        signal: mine.signal,
      });
      if (response.status !== 503) {
        const run = await answerOf(response);
        const timing = /dur=([\d.]+)/.exec(response.headers.get("server-timing") ?? "");
        return mine === newest ? { run, tookMs: timing ? Number(timing[1]) : null } : null;
      }
      await new Promise((wake) => {
        setTimeout(wake, AGAIN_MS);
      });
      if (mine !== newest) return null;
    }
  } catch (error) {
    if (error.name === "AbortError" || mine !== newest) return null;
    if (error instanceof TypeError)
      throw new Refused("The server does not answer; is trafficgen explore still running?", null);
    throw error;
  }
}
