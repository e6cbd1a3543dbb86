import { defaultFeatures } from "../meta/feature-gates.ts";
import type { KubeObject } from "../meta/objects.ts";
import { apiVersionOf } from "../meta/resource.ts";
import { sentences } from "../pod/pod.fixture.ts";
import { builtInKinds } from "./built-in-kinds.ts";

export const context = { features: defaultFeatures, now: Date.parse("2026-01-02T03:04:05Z") };

/** For tests: the strategy of a kind, with functions that create and validate objects of the kind. */
export function useStrategy(apiVersion: string, kind: string) {
  const definition = builtInKinds.find(
    ({ resource }) => apiVersionOf(resource) === apiVersion && resource.kind === kind,
  );
  if (!definition) throw new Error(`there is no kind ${kind}`);
  const { strategy } = definition;

  function make(fields: object = {}): KubeObject {
    const metadata = { name: "a", namespace: "default" };
    const object = { apiVersion, kind, metadata, ...structuredClone(fields) };
    strategy.applyDefaults?.(object, context);
    return object;
  }

  return {
    strategy,
    make,
    createErrors(fields: object): string[] {
      if (!strategy.validate) throw new Error(`${kind} has no validation`);
      return sentences(strategy.validate(make(fields), context));
    },
    updateErrors(before: object, after: object): string[] {
      if (!strategy.validateUpdate) throw new Error(`${kind} has no validation of updates`);
      return sentences(strategy.validateUpdate(make(after), make(before), context));
    },
  };
}
