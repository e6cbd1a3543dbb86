import { Option } from "commander";

/** `-o json`, wherever a table is printed. */
export const outputOption = () =>
  new Option("-o, --output <format>", "print a table or JSON").choices(["table", "json"]).default("table");
