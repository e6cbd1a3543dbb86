import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  type Quantity,
  QuantityError,
  subtractQuantities,
} from "../../meta/quantity.ts";
import { type FunctionDeclaration, fn, type Implementation, member, nameType } from "../functions.ts";
import { structType } from "../type.ts";
import { CelError, CelObject, type Value } from "../values.ts";

export const quantityType = nameType("quantity", structType("kubernetes.Quantity"));

class QuantityValue extends CelObject {
  readonly type = quantityType;
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  equals(other: CelObject): boolean {
    return other instanceof QuantityValue && other.quantity.nanos === this.quantity.nanos;
  }
}

function parse(text: string): QuantityValue | CelError {
  try {
    return new QuantityValue(parseQuantity(text));
  } catch (error) {
    if (error instanceof QuantityError) return new CelError(error.message);
    throw error;
  }
}

const billion = 1_000_000_000n;

function wholeNumber({ nanos }: Quantity): bigint | undefined {
  const value = nanos / billion;
  return nanos % billion === 0n && BigInt.asIntN(64, value) === value ? value : undefined;
}

const one =
  (compute: (quantity: Quantity) => Value): Implementation =>
  ([value]) =>
    compute((value as QuantityValue).quantity);
const two =
  (compute: (a: Quantity, b: Quantity) => Value): Implementation =>
  ([a, b]) =>
    compute((a as QuantityValue).quantity, toQuantity(b));

function toQuantity(value: Value | undefined): Quantity {
  return value instanceof QuantityValue
    ? value.quantity
    : { nanos: (value as bigint) * billion, format: "DecimalExponent" };
}

const add = two((a, b) => new QuantityValue(addQuantities(a, b)));
const subtract = two((a, b) => new QuantityValue(subtractQuantities(a, b)));

/** Kubernetes' functions for quantities. */
export const quantityFunctions: readonly FunctionDeclaration[] = [
  fn("quantity", ["string_to_quantity", "string -> quantity", ([text]) => parse(text as string)]),
  fn("isQuantity", [
    "is_quantity_string",
    "string -> bool",
    ([text]) => parse(text as string) instanceof QuantityValue,
  ]),
  fn("sign", [
    "quantity_sign",
    "quantity -> int",
    one(({ nanos }) => (nanos > 0n ? 1n : nanos < 0n ? -1n : 0n)),
  ]),
  member("isGreaterThan", [
    "quantity_is_greater_than",
    "quantity, quantity -> bool",
    two((a, b) => compareQuantities(a, b) > 0),
  ]),
  member("isLessThan", [
    "quantity_is_less_than",
    "quantity, quantity -> bool",
    two((a, b) => compareQuantities(a, b) < 0),
  ]),
  member("compareTo", [
    "quantity_compare_to",
    "quantity, quantity -> int",
    two((a, b) => BigInt(Math.sign(compareQuantities(a, b)))),
  ]),
  member("asApproximateFloat", [
    "quantity_get_float",
    "quantity -> double",
    one(({ nanos }) => Number(nanos) / 1e9),
  ]),
  member("asInteger", [
    "quantity_get_int",
    "quantity -> int",
    one((quantity) => wholeNumber(quantity) ?? new CelError("cannot convert value to integer")),
  ]),
  member("isInteger", [
    "quantity_is_integer",
    "quantity -> bool",
    one((quantity) => wholeNumber(quantity) !== undefined),
  ]),
  member(
    "add",
    ["quantity_add", "quantity, quantity -> quantity", add],
    ["quantity_add_int", "quantity, int -> quantity", add],
  ),
  member(
    "sub",
    ["quantity_sub", "quantity, quantity -> quantity", subtract],
    ["quantity_sub_int", "quantity, int -> quantity", subtract],
  ),
];
