// The settings of the page as a link, and a link as settings.

const SETTING = "set.";

/** Return the query that holds all settings. */
export function queryOf(state) {
  const query = new URLSearchParams({ model: state.model, competitor: state.competitor });
  for (const [name, value] of Object.entries(state.values)) query.set(name, String(value));
  for (const [name, value] of Object.entries(state.settings)) query.set(SETTING + name, value);
  return query.toString();
}

/**
 * Return the settings of a query on top of others, and what in it is not understood.
 * Values out of bounds are kept: the server says what is wrong with them.
 */
export function stateOf(query, state, controls) {
  const found = { ...state, values: { ...state.values }, settings: {} };
  const unknown = [];
  const known = new Set(controls.map((control) => control.name));
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === "model" || name === "competitor") found[name] = value;
    else if (name.startsWith(SETTING)) found.settings[name.slice(SETTING.length)] = value;
    else if (known.has(name) && value.trim() !== "" && Number.isFinite(Number(value)))
      found.values[name] = Number(value);
    else unknown.push(`${name}=${value}`);
  }
  return { state: found, unknown };
}
