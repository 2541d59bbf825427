//! Laws and their ends, and what a model file may get wrong.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use super::law::Law;
use super::parameters::Parameters;
use super::process::Process;
use super::Streams;
use crate::source::parameters::read;

const DRAWS: usize = 100_000;

fn mean(law: &serde_json::Value) -> f64 {
    let law: Law = serde_json::from_value(law.clone()).expect("is valid");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    (0..DRAWS).map(|_| law.draw(&mut rng)).sum::<f64>() / DRAWS as f64
}

#[test]
fn what_is_beyond_an_end_is_drawn_again_or_sits_on_it() {
    let pareto = json!({"family": "pareto", "b": 1.1, "scale": 2, "low": 2, "high": 55});
    let ended = |beyond: &str| {
        let mut law = pareto.clone();
        law["beyond"] = json!(beyond);
        mean(&law)
    };
    assert!((ended("clip") - 7.64).abs() < 0.1);
    assert!((ended("resample") - 6.37).abs() < 0.1);
}

#[test]
fn a_law_that_a_file_gets_wrong_says_so() {
    let wrong = |law: serde_json::Value| {
        serde_json::from_value::<Law>(law).expect_err("is refused").to_string()
    };
    assert!(wrong(json!({"family": "norm", "low": 0})).contains("resample or clip"));
    assert!(wrong(json!({"family": "norm", "sigma": 2})).contains("no sigma"));
    assert!(wrong(json!({"family": "cauchy"})).contains("cauchy is no family"));
    assert!(wrong(json!({"family": "lognorm"})).contains("parameter s"));
}

#[test]
fn jitter_without_a_low_end_is_refused() {
    let parameters = json!({
        "duration_s": 1,
        "flows": [{"name": "a", "media": "video", "direction": "down", "protocol": "udp"}],
        "processes": [{
            "arrivals": {"period_s": 0.02},
            "jitter_s": {"family": "norm", "scale": 0.002},
            "sends": [{"flow": "a", "bytes": 100}],
        }],
    });
    let problem = Streams::new(read(&parameters).expect("is valid")).expect_err("is refused");
    assert!(problem.contains("low end"), "{problem}");
}

#[test]
fn gaps_in_which_no_time_passes_are_refused() {
    let source = |gap_s: serde_json::Value| {
        let parameters = json!({
            "duration_s": 1,
            "flows": [{"name": "a", "media": "video", "direction": "down", "protocol": "udp"}],
            "processes": [{
                "arrivals": {"gap_s": gap_s},
                "sends": [{"flow": "a", "bytes": 100}],
            }],
        });
        Streams::new(read(&parameters).expect("is valid"))
    };
    for gap_s in [
        json!(0),
        json!({"family": "expon", "scale": 0}),
        json!({"family": "lognorm", "s": 1, "scale": 1e-12}),
        json!({"family": "expon", "scale": 1, "low": 0, "high": 0, "beyond": "clip"}),
    ] {
        let problem = source(gap_s).expect_err("is refused");
        assert!(problem.contains("gap_s must be above"), "{problem}");
    }
    assert!(source(json!({"family": "expon", "scale": 1e-3})).is_ok());
}

#[test]
fn a_process_that_sends_nothing_ends() {
    let source = |sends: serde_json::Value| {
        let parameters = json!({
            "flows": [{"name": "a", "media": "video", "direction": "down", "protocol": "udp"}],
            "processes": [{"arrivals": {"period_s": 0.02}, "sends": sends}],
        });
        let parameters: Parameters = read(&parameters).expect("is valid");
        parameters.validate()?;
        let mut process = Process::new(parameters.processes[0].clone(), &parameters);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        process.begin(0, &mut rng);
        Ok::<_, String>(process.due(&mut rng))
    };
    assert_eq!(source(json!([])), Ok(None));
    assert_eq!(source(json!([{"flow": "a", "bytes": 9, "cycle": 2, "turns": [2, 3]}])), Ok(None));
    let problem = source(json!([{"flow": "a", "bytes": 9, "count": 0}])).expect_err("is refused");
    assert!(problem.contains("count must be at least 1"), "{problem}");
    assert_eq!(source(json!([{"flow": "a", "bytes": 9}])), Ok(Some(0)));
}
