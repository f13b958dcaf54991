//! EPUB: the pages of a book in their order.

use std::collections::HashMap;

use super::xml::{Element, read_elements};
use super::{Archive, target_of};
use crate::error::ReadError;
use crate::html;
use crate::limits::expect_at_most;
use crate::text::Draft;

pub(super) const CONTAINER: &str = "META-INF/container.xml";

pub(super) fn read(archive: &mut Archive<'_>, draft: &mut Draft<'_>) -> Result<(), ReadError> {
    let container = archive.expect_part(CONTAINER)?;
    let mut package = None;
    read_elements(&container, &mut |element, _| {
        if let Element::Start(start) = element
            && start.name == "rootfile"
            && package.is_none()
        {
            package = start.get("full-path");
        }
        Ok(())
    })?;
    let package = package.ok_or_else(|| ReadError::Broken("the book names no package".into()))?;
    let text = archive.expect_part(&package)?;
    archive.says(&package, draft)?;
    let folder = package.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (mut items, mut spine) = (HashMap::new(), Vec::new());
    read_elements(&text, &mut |element, _| {
        let Element::Start(start) = element else { return Ok(()) };
        match start.name.as_str() {
            "item" => {
                if let (Some(id), Some(target)) = (start.get("id"), start.get("href")) {
                    items.insert(id, target_of(folder, &target));
                }
            }
            "itemref" => spine.extend(start.get("idref")),
            _ => {}
        }
        Ok(())
    })?;
    expect_at_most(spine.len(), archive.limits.pages, "pages")?;
    for page in spine.iter().filter_map(|id| items.get(id)) {
        match archive.part(page)? {
            Some(text) => html::read_into(&text, draft, true)?,
            None => draft.unread(format!("{page} is missing")),
        }
    }
    Ok(())
}
