//! The seed's tests of authority.

use kapsa_roles::{AuthorityConfig, Permission};

fn full() -> AuthorityConfig {
    AuthorityConfig::new()
        .autonomous(["qualify_lead", "trigger_nurture"])
        .needs_approval(["change_pricing"])
        .forbidden(["sign_contracts"])
}

#[test]
fn autonomous_action() {
    assert_eq!(full().can_act("qualify_lead"), Permission::Autonomous);
    assert_eq!(full().can_act("trigger_nurture"), Permission::Autonomous);
}

#[test]
fn needs_approval_action() {
    assert_eq!(full().can_act("change_pricing"), Permission::NeedsApproval);
}

#[test]
fn forbidden_action() {
    assert_eq!(full().can_act("sign_contracts"), Permission::Forbidden);
}

#[test]
fn unknown_defaults_to_needs_approval() {
    assert_eq!(full().can_act("unknown_action"), Permission::NeedsApproval);
    assert_eq!(AuthorityConfig::new().can_act("anything"), Permission::NeedsApproval);
    assert_eq!(
        full().can_act("Qualify_Lead"),
        Permission::NeedsApproval,
        "a name is the whole name, as it is written"
    );
}

#[test]
fn forbidden_takes_priority() {
    let authority = AuthorityConfig::new().autonomous(["do_thing"]).forbidden(["do_thing"]);
    assert_eq!(authority.can_act("do_thing"), Permission::Forbidden);
}

/// The rule, written down once more as a table of all cases.
#[test]
fn the_stricter_list_wins() {
    for lists in 0..8u8 {
        let listed = |bit: u8| (lists & bit != 0).then_some("act");
        let authority = AuthorityConfig::new()
            .autonomous(listed(1))
            .needs_approval(listed(2))
            .forbidden(listed(4));
        let expected = match lists {
            4.. => Permission::Forbidden,
            1 => Permission::Autonomous,
            _ => Permission::NeedsApproval,
        };
        assert_eq!(authority.can_act("act"), expected, "{lists:03b}");
    }
}

#[test]
fn permissions_have_the_seeds_names() {
    let names = [Permission::Autonomous, Permission::NeedsApproval, Permission::Forbidden]
        .map(|permission| permission.to_string());
    assert_eq!(names, ["autonomous", "needs_approval", "forbidden"]);
}
