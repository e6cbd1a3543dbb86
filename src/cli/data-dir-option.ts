import { homedir } from "node:os";
import { join } from "node:path";
import { Option } from "commander";

/** `--data-dir`, on every command about a cluster of this machine. */
export const dataDirOption = () =>
  new Option("--data-dir <dir>", "where the cluster keeps its data").default(
    join(homedir(), ".kindling"),
    "~/.kindling",
  );
