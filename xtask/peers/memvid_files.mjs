// Memvid's SDK for Node, from the folder that is named first: `write FILE` writes documents and a card, and says what
// they are; `read FILE WORD` says what documents are in it, and what the word finds.
import { createRequire } from "node:module";

const [folder, verb, path, word] = process.argv.slice(2);
const { create, use } = createRequire(import.meta.url)(folder);

const texts = { Port: "The database\nlistens on port 5433.", Plain: "The badger sleeps." };

async function documents(memory) {
  const entries = await memory.timeline({ limit: 100 });
  const pages = entries.filter((entry) => entry.uri);
  return Promise.all(pages.map((entry) => memory.getFrameInfo(entry.frame_id)));
}

if (verb === "write") {
  const memory = await create(path);
  await memory.put({
    title: "Port",
    label: "note",
    labels: ["ops"],
    tags: ["alpha"],
    text: texts.Port,
    uri: "mv2://notes/port",
    metadata: { author: "ann", n: 3 },
  });
  await memory.put({ title: "Plain", label: "doc", text: texts.Plain });
  await memory.addMemoryCards([{ entity: "Ann", slot: "employer", value: "Acme", kind: "fact" }]);
  await memory.seal();
  const written = await use("basic", path, { readOnly: true });
  const told = (await documents(written)).map(({ title, labels }) => ({
    title,
    text: texts[title],
    labels,
    metadata: title === "Port" ? { author: "ann", n: 3 } : {},
  }));
  console.log(JSON.stringify(told));
} else {
  const memory = await use("basic", path, { readOnly: true });
  const told = [];
  for (const { id, uri, title, labels } of await documents(memory)) {
    told.push({ uri, title, labels, metadata: {}, text: await memory.view(id) });
  }
  const found = await memory.find(word, { k: 3, mode: "lex" });
  const hits = found.hits.map(({ title, text }) => ({ title, text }));
  console.log(JSON.stringify({ documents: told, hits }));
}
// What still waits for the network does not matter.
process.exit(0);
