import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** From the built command, from one of its chunks, and from the sources. */
const places = ["dashboard/", "../dashboard/", "../../../dist/dashboard/"];

/** The directory with the page's files; undefined when it was not built. */
export function findPage(from = import.meta.url): string | undefined {
  return places
    .map((place) => fileURLToPath(new URL(place, from)))
    .find((directory) => existsSync(`${directory}index.html`));
}
