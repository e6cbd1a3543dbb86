import { coreFieldNumbers } from "./core-field-numbers.ts";
import { groupFieldNumbers } from "./group-field-numbers.ts";
import { volumeFieldNumbers } from "./volume-field-numbers.ts";

// The protobuf field numbers of upstream 1.36, in the names of the schema. They are part of its API and never change.
//
// A field has the number after that of the field before it, the first one 1; `name=9` says another. `...name` is a
// message with a number of its own whose fields JSON has in place.
const lines = new Map(
  [coreFieldNumbers, volumeFieldNumbers, groupFieldNumbers].flatMap((table) =>
    table
      .trim()
      .split(/\n(?=\S)/)
      .map((line) => {
        const [definition = "", fields = ""] = line.split(": ");
        return [definition, fields] as const;
      }),
  ),
);

export function hasFieldNumbers(definition: string): boolean {
  return lines.has(definition);
}

/** The fields of a definition with their numbers, as the table has them: `["metadata", 1]`, `["...core.v1.X", 2]`. */
export function fieldNumbersOf(definition: string): readonly (readonly [field: string, number: number])[] {
  const fields = lines.get(definition);
  if (fields === undefined) throw new Error(`no field numbers for ${definition}`);
  let last = 0;
  return fields.split(/\s+/).map((word) => {
    const [field = "", number] = word.split("=");
    last = number ? Number(number) : last + 1;
    return [field, last] as const;
  });
}
