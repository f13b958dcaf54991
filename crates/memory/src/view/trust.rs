//! How far what a view sees has to be trusted, and what has to be reviewed before anybody sees it.

use super::View;
use crate::error::Result;
use crate::records::admission::ReviewRules;
use crate::records::provenance::Trust;
use crate::tables::lineage::Lineage;

/// The same view, without what is trusted less far in searches and lists. A record is trusted as
/// its newest revision is.
pub(crate) fn trusted(view: &View, trust_min: Trust) -> View {
    View { trust_min, ..view.clone() }
}

/// The rules of review that are in force: those on `main`.
pub(crate) fn review_rules(view: &View) -> Result<ReviewRules> {
    let main = view.with(Lineage::main());
    let body = main.visible(&ReviewRules::uri())?;
    body.map_or_else(|| Ok(ReviewRules::default()), |body| ReviewRules::from_record(&body.record))
}
