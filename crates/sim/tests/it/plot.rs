//! The picture shows what was counted: read back from the SVG, every curve and block is the run's own.

use steadfast_core::breaker::State;
use steadfast_sim::plot::svg;
use steadfast_sim::stats::{Second, Stats};
use steadfast_sim::{Scenario, Setup, simulate};

use crate::setup;

/// What one attribute of an element says.
fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let (_, rest) = element.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("no {name}: {element}"));
    rest.split('"').next().unwrap_or_default()
}

/// The heights of every curve's points, in the order they were drawn.
fn curves(picture: &str) -> Vec<Vec<f64>> {
    let paths = picture.split("<path").skip(1);
    let points = |path: &str| attribute(path, "d").replace('L', "M").split('M').skip(1).map(height).collect();
    paths.map(points).collect()
}

fn height(point: &str) -> f64 {
    point.split(' ').nth(1).and_then(|y| y.parse().ok()).unwrap_or_else(|| panic!("no point: {point}"))
}

/// Asserts that heights show these counts: the foot of the chart is zero, and one unit is everywhere as high. Heights
/// are printed to a tenth, so what is read back is a whole number only nearly.
fn assert_shows(name: &str, heights: &[f64], values: &[f64], foot: f64, per_unit: f64) {
    assert_eq!(heights.len(), values.len(), "{name}");
    for (second, (height, value)) in heights.iter().zip(values).enumerate() {
        let shown = (foot - height) / per_unit;
        assert!((shown - value).abs() < 0.25, "{name}, second {second}: {shown} shown, {value} counted");
    }
}

fn outage() -> (Setup, Stats) {
    let mut setup = setup("outage", "default", 3);
    setup.scenario = Scenario::named("outage").expect("a named scenario").with_clients(300);
    let finished = simulate(&setup);
    assert!(finished.broken.is_none());
    (setup, finished.stats)
}

#[test]
fn traffic_and_failures_are_drawn_as_they_were_counted() {
    let (setup, stats) = outage();
    let curves = curves(&svg(&[(&setup, &stats)]));
    let counted = |pick: fn(&Second) -> u32| -> Vec<f64> {
        stats.seconds[..setup.scenario.seconds as usize].iter().map(|second| f64::from(pick(second))).collect()
    };
    let charts = [
        vec![
            ("came in", counted(|second| second.requests)),
            ("served", counted(|second| second.served)),
            ("not served", counted(|second| second.lost)),
        ],
        vec![("attempts", counted(|second| second.attempts)), ("failed", counted(|second| second.failures))],
    ];
    let mut drawn = curves.iter();
    for chart in charts {
        let heights: Vec<&Vec<f64>> = drawn.by_ref().take(chart.len()).collect();
        // The scale of a chart is found from its first curve: its highest point and one at nothing of any curve.
        let (highest, at) = chart[0]
            .1
            .iter()
            .zip(heights[0])
            .fold((0.0, 0.0), |best, (value, height)| if *value > best.0 { (*value, *height) } else { best });
        let of_nothing = |((_, values), heights): (&(&str, Vec<f64>), &&Vec<f64>)| {
            values.iter().zip(*heights).find(|(value, _)| **value == 0.0).map(|(_, height)| *height)
        };
        let foot = chart.iter().zip(&heights).find_map(of_nothing).expect("a second in which nothing happened");
        let per_unit = (foot - at) / highest;
        assert!(per_unit > 0.0, "more is higher");
        for ((name, values), heights) in chart.iter().zip(heights) {
            assert_shows(name, heights, values, foot, per_unit);
        }
    }
    assert!(drawn.next().is_none(), "five curves and no more");
}

#[test]
fn every_breaker_has_a_lane_that_shows_when_it_refused() {
    let (setup, stats) = outage();
    let picture = svg(&[(&setup, &stats)]);
    let mut blocks = 0;
    for endpoint in &stats.endpoints {
        assert!(picture.contains(&format!(">{}</text>", endpoint.name)), "{} has a lane", endpoint.name);
        let opened = endpoint.changes.iter().filter(|(_, state)| matches!(state, State::Open { .. })).count();
        assert!(opened > 0, "everything was down");
        blocks += opened;
    }
    let open = picture.split("<rect").filter(|rect| rect.contains("fill=\"#cf222e\"")).count();
    assert_eq!(open, blocks + 1, "a block for every time one opened, and one in the legend");
    assert!(picture.contains(">trouble</text>") && picture.contains("open: refused"));
}

#[test]
fn two_policies_stand_one_above_the_other_on_the_same_scales() {
    let (setup, stats) = outage();
    let mut other = setup.clone();
    other.policy = crate::policy("hardened");
    let against = simulate(&other).stats;
    let picture = svg(&[(&setup, &stats), (&other, &against)]);
    assert_eq!(picture.matches("<svg").count(), 1);
    assert!(picture.find("policy default").unwrap() < picture.find("policy hardened").unwrap());
    let (curves, alone) = (curves(&picture), curves(&svg(&[(&other, &against)])));
    assert_eq!((curves.len(), alone.len()), (10, 5));
    // Requests come in alike under both, and what is alike is as high.
    assert_eq!(curves[0], curves[5]);
}
