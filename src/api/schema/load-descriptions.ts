/** What upstream says about each definition (under the empty name) and about its fields. */
export type Descriptions = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Only documentation needs them, and they are large: loaded when first asked for. */
export async function loadDescriptions(): Promise<Descriptions> {
  const { default: descriptions } = await import("../generated/descriptions.json", {
    with: { type: "json" },
  });
  return descriptions;
}
