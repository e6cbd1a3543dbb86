import { describe, expect, test } from "vitest";
import { defaultFeatures, FeatureGateError, parseFeatureGates } from "./feature-gates.ts";

describe("parseFeatureGates", () => {
  test.each(["", " ", ","])("%j keeps the defaults", (text) => {
    expect(parseFeatureGates(text)).toEqual(defaultFeatures);
    const off = Object.entries(defaultFeatures).filter(([, on]) => !on);
    expect(off).toEqual([["StatefulSetRecreateStrategy", false]]);
  });

  test("settings change only the named gates", () => {
    expect(parseFeatureGates("ImagePullProgress=false, PodFailingToStartCondition=true")).toEqual({
      ...defaultFeatures,
      ImagePullProgress: false,
    });
  });

  test("an alias names its gate", () => {
    expect(parseFeatureGates("StartupProbe=false").StartupProbeEnabled).toBe(false);
  });

  test("the last setting of a gate counts", () => {
    expect(parseFeatureGates("ImagePullProgress=false,ImagePullProgress=true").ImagePullProgress).toBe(true);
  });

  test("rejects an unknown name with the list of known ones", () => {
    expect(() => parseFeatureGates("Nope=true")).toThrow(FeatureGateError);
    expect(() => parseFeatureGates("Nope=true")).toThrow(
      /unknown feature gate "Nope"; known feature gates: .*ImagePullProgress/,
    );
  });

  test.each(["ImagePullProgress", "ImagePullProgress=yes", "ImagePullProgress=true=false", "=true"])(
    "%j is refused",
    (text) => {
      expect(() => parseFeatureGates(text)).toThrow(FeatureGateError);
    },
  );

  test("rejects property names of Object.prototype", () => {
    expect(() => parseFeatureGates("constructor=true")).toThrow(/unknown feature gate/);
  });
});
