//! A series of amounts over time cut into stretches of one rate each.

/// The best cut by the penalised quasi-likelihood of Poisson rates: the first unit of each stretch,
/// and the number of units at the end.
///
/// `total` and `time_s` are the amounts and the time before each unit and at the end; stretches
/// have at least `shortest` units, and each one costs `penalty`.
///
/// Source: Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear
/// computational cost" (PELT), Journal of the American Statistical Association 107, 2012.
///
/// # Panics
///
/// When there are not as many amounts as times, or `shortest` is 0.
#[must_use]
pub fn change_points(total: &[f64], time_s: &[f64], shortest: usize, penalty: f64) -> Vec<i64> {
    assert!(total.len() == time_s.len() && shortest > 0, "as many, and no empty stretches");
    let units = total.len().saturating_sub(1);
    let (mut best, mut came_from) = (vec![f64::INFINITY; units + 1], vec![0; units + 1]);
    best[0] = -penalty;
    let mut candidates = vec![0];
    let mut costs = Vec::new();
    for end in shortest..=units {
        costs.clear();
        costs.extend(candidates.iter().map(|&start: &usize| {
            let amount = total[end] - total[start];
            best[start] - amount * (amount / (time_s[end] - time_s[start])).ln()
        }));
        let (mut chosen, mut least) = (candidates[0], costs[0]);
        for (&start, &cost) in candidates.iter().zip(&costs) {
            if cost < least {
                (chosen, least) = (start, cost);
            }
        }
        (best[end], came_from[end]) = (least + penalty, chosen);
        // A start that is worse by the penalty now is never the best again; the newest are not
        // eligible yet.
        let mut cost = costs.iter();
        candidates.retain(|_| cost.next().is_some_and(|cost| *cost <= best[end]));
        candidates.push(end + 1 - shortest);
    }
    let mut edges = vec![units as i64];
    let mut at = units;
    while at > 0 {
        at = came_from[at];
        edges.push(at as i64);
    }
    edges.reverse();
    edges
}

#[cfg(test)]
mod tests {
    use super::change_points;

    #[test]
    fn a_rate_that_doubles_is_cut_once() {
        let time_s: Vec<f64> = (0..=100).map(f64::from).collect();
        let total: Vec<f64> = (0..=100).map(|at| f64::from(at + (at - 60).max(0)) * 50.0).collect();
        assert_eq!(change_points(&total, &time_s, 5, 20.0), [0, 60, 100]);
        assert_eq!(change_points(&total, &time_s, 5, 1e9), [0, 100]);
        assert_eq!(change_points(&total[..3], &time_s[..3], 5, 20.0), [0, 2]);
    }
}
