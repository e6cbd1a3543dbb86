import type { Environment } from "./environment.ts";
import { mergeFunctions } from "./functions.ts";
import { operators } from "./library/arithmetic.ts";
import { authorizerFunctions, authorizerTypes } from "./library/authorizer.ts";
import { conversions } from "./library/conversions.ts";
import { formatFunctions, formatType } from "./library/formats.ts";
import { listFunctions } from "./library/lists.ts";
import { cidrType, ipType, networkFunctions } from "./library/network.ts";
import { optionalFunctions } from "./library/optional.ts";
import { quantityFunctions, quantityType } from "./library/quantities.ts";
import { semverFunctions, semverType } from "./library/semver.ts";
import { stringFunctions } from "./library/strings.ts";
import { textFunctions } from "./library/text.ts";
import { urlFunctions, urlType } from "./library/urls.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  optionalType,
  stringType,
  type Type,
  timestampType,
  typeType,
  uintType,
} from "./type.ts";

const namedTypes: readonly Type[] = [
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  nullType,
  stringType,
  timestampType,
  typeType,
  uintType,
  listType(dynType),
  mapType(dynType, dynType),
  optionalType(dynType),
  quantityType,
  urlType,
  ipType,
  cidrType,
  semverType,
  formatType,
  ...authorizerTypes,
];

/** Environment of all Kubernetes expressions, without variables. */
export const baseEnvironment: Environment = {
  variables: new Map(),
  functions: mergeFunctions([
    ...operators,
    ...conversions,
    ...textFunctions,
    ...optionalFunctions,
    ...urlFunctions,
    ...stringFunctions,
    ...listFunctions,
    ...quantityFunctions,
    ...networkFunctions,
    ...formatFunctions,
    ...semverFunctions,
    ...authorizerFunctions,
  ]),
  types: new Map(namedTypes.map((type) => [type.name, type])),
};
