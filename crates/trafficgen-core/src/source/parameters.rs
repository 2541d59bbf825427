//! Reading the parameters of a source.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Turn JSON into a source's parameters; null stands for all defaults.
///
/// # Errors
/// What is missing, unknown or of the wrong type.
pub fn read<T: DeserializeOwned>(parameters: &Value) -> Result<T, String> {
    let value = if parameters.is_null() { Value::Object(Map::new()) } else { parameters.clone() };
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// Check that a number is above 0.
///
/// # Errors
/// A sentence that names it.
pub fn positive(name: &str, value: f64) -> Result<(), String> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(format!("{name} must be above 0, not {value}"))
    }
}
