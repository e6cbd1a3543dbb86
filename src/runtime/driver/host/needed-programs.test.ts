import { expect, it } from "vitest";
import { checkPrograms } from "./needed-programs.ts";

const without = (...missing: string[]) => {
  return (name: string) => (missing.includes(name) ? undefined : `/usr/bin/${name}`);
};

it("is content where all are there", () => {
  expect(() => checkPrograms(without())).not.toThrow();
});

it.each([
  [
    ["ldd"],
    "the host driver needs ldd, not installed here: apt-get install libc-bin, or your system's packages that have it",
  ],
  [
    ["nsenter", "unshare", "script"],
    /needs unshare, nsenter, script, not installed here: apt-get install util-linux bsdutils, .* have them$/,
  ],
])("names what is missing and what to install: %j", (missing, message) => {
  expect(() => checkPrograms(without(...missing))).toThrow(message);
});
