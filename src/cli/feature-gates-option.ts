import { InvalidArgumentError, Option } from "commander";
import { defaultFeatures, type Features, parseFeatureGates } from "../api/feature-gates.ts";
import { messageOf } from "../lib/message-of.ts";

/** `--feature-gates Name=true,Other=false`, on every command whose component reads gates. */
export const featureGatesOption = () =>
  new Option("--feature-gates <list>", "switch features: Name=true,Other=false")
    .argParser(parseOption)
    .default(defaultFeatures, "as kindling features lists them");

function parseOption(text: string): Features {
  try {
    return parseFeatureGates(text);
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}
