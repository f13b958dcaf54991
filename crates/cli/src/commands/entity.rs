//! `entity`: what an entity is also called.

use kapsa_agents::{EntityNames, VocabularyStore};

use crate::app::{App, did};
use crate::args::{EntityNamesArgs, EntityVerb};
use crate::error::{Done, Result};
use crate::escape;
use crate::wire::agent::{EntitiesOut, EntityOut};

/// `kapsa entity`.
pub(crate) fn run(app: &mut App, verb: EntityVerb) -> Result<()> {
    let store = VocabularyStore::new(app.location()?);
    match verb {
        EntityVerb::Alias(args) => {
            let entity = store.alias(&args.name, &args.aliases)?;
            changed(app, &args, &entity)
        }
        EntityVerb::Unalias(args) => {
            let entity = store.unalias(&args.name, &args.aliases)?;
            changed(app, &args, &entity)
        }
        EntityVerb::Show { name } => {
            let entity = store.entity(&name)?;
            if app.out.is_json() {
                return app.out.json(&EntityOut::from(&entity));
            }
            line(app, &entity)
        }
        EntityVerb::List => {
            let entities = store.entities()?;
            if app.out.is_json() {
                return app.out.json(&EntitiesOut::of(&entities));
            }
            if entities.is_empty() {
                app.out.note("no entity has another name");
            }
            entities.iter().try_for_each(|entity| line(app, entity))
        }
    }
}

fn changed(app: &mut App, args: &EntityNamesArgs, entity: &EntityNames) -> Result<()> {
    let done = format!("stored the names of {}", args.name);
    did(app, Done::new(done).field("entity", entity.name.as_str()));
    if app.out.is_json() {
        return app.out.json(&EntityOut::from(entity));
    }
    line(app, entity)
}

/// `Acme = Acme Inc., ACME Corp`.
fn line(app: &mut App, entity: &EntityNames) -> Result<()> {
    app.out.strong(&escape::line(&entity.name))?;
    let aliases = entity.aliases.join(", ");
    app.out.line(&escape::line(&if aliases.is_empty() { aliases } else { format!(" = {aliases}") }))
}
