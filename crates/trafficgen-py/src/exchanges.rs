//! Exchanges of connections as numpy arrays.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trafficgen_core::flow::{Exchange, ExchangeMeter, Exchanges};

/// Stands for a time that is not known.
const NO_TIME_NS: i64 = i64::MIN;

/// A dictionary of arrays, one entry an exchange, flow by flow (a time that is not known is the
/// least number); under `untold` the flows whose requests are not told from acknowledgements.
pub fn exchanges_to_python<'py>(
    py: Python<'py>,
    meter: &ExchangeMeter,
    initiator_is_client: &[bool],
) -> PyResult<Bound<'py, PyDict>> {
    let (mut exchanges, mut untold) = (Vec::<(u32, Exchange)>::new(), Vec::<u32>::new());
    for (flow, &is_client) in (0..).zip(initiator_is_client) {
        match meter.of_flow(flow, is_client) {
            Some(Exchanges::Found(found)) => {
                exchanges.extend(found.into_iter().map(|exchange| (flow, exchange)));
            }
            Some(Exchanges::Untold) => untold.push(flow),
            None => {}
        }
    }
    let result = PyDict::new(py);
    macro_rules! set {
        ($($key:literal => $of:expr),+ $(,)?) => {
            $(
                let values = exchanges.iter().map($of).collect::<Vec<_>>();
                result.set_item($key, values.into_pyarray(py))?;
            )+
        };
    }
    set! {
        "flow" => |(flow, _)| *flow,
        "request_ns" => |(_, exchange)| exchange.request_ns.unwrap_or(NO_TIME_NS),
        "request_bytes" => |(_, exchange)| exchange.request_bytes,
        "first_byte_ns" => |(_, exchange)| exchange.first_byte_ns.unwrap_or(NO_TIME_NS),
        "last_byte_ns" => |(_, exchange)| exchange.last_byte_ns.unwrap_or(NO_TIME_NS),
        "heard_ns" => |(_, exchange)| exchange.heard_ns.unwrap_or(NO_TIME_NS),
        "response_bytes" => |(_, exchange)| exchange.response_bytes,
        "merged" => |(_, exchange)| exchange.merged,
        "is_control" => |(_, exchange)| exchange.is_control,
    }
    result.set_item("untold", untold.into_pyarray(py))?;
    Ok(result)
}
