//! A small campaign; `cargo xtask simulate --nightly` runs a large one.

#[test]
fn no_invariant_breaks_and_every_rare_state_is_reached() {
    let campaign = steadfast_sim::campaign(0, 1_500_000).unwrap_or_else(|trouble| panic!("{trouble}"));
    let missed: Vec<&str> = campaign.missed().into_iter().map(steadfast_sim::Rare::words).collect();
    assert!(missed.is_empty(), "never reached: {missed:?}");
}
