import { formatBytes } from "../format-bytes.ts";

/** Progress of an image pull: the sums over the layers that it transfers, and each layer. */
export interface PullProgress {
  /** Bytes received. */
  readonly offset: number;
  /** 0 while unknown. */
  readonly total: number;
  /** Layers, lowest first. */
  readonly layers: readonly LayerProgress[];
  /** Set while the pull waits for other pulls of the node: containerd 2 downloads three layers at a time. */
  readonly queued?: true;
}

/** Pull of a container's image, as the kubelet serves it at `/imagePullProgress/NAMESPACE/POD`. */
export interface ContainerPull extends PullProgress {
  readonly image: string;
  readonly container: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /**
   * Images of which one has this progress. Set if several tags of a repository are pulled at once by containerd, which
   * knows the tag of a pull only at its end.
   */
  readonly oneOf?: readonly string[];
}

export interface LayerProgress {
  readonly digest: string;
  /** Bytes received. */
  readonly offset: number;
  readonly total: number;
  /** A `LayerStage`, or the word of a runtime that reports others. */
  readonly stage: string;
}

/** Stage of a layer. `exists` is a layer that was present before the pull and counts as zero bytes. */
export type LayerStage = "waiting" | "downloading" | "verifying" | "unpacking" | "done" | "exists";

/** Message of a pull that was aborted because the registry sent no data. Names the layers of which a part had arrived. */
export function noProgressMessage(
  reference: string,
  {
    timeoutMs,
    layers,
    registry,
  }: {
    readonly timeoutMs: number;
    readonly layers: readonly LayerProgress[];
    /** Host of the registry. Omitted where several may have been tried. */
    readonly registry?: string | undefined;
  },
): string {
  const partial = layers.filter(({ offset, total }) => offset > 0 && offset < total);
  // The pull of one known registry names at least the first layer that it waits for.
  const waiting = registry ? layers.filter(({ offset, total }) => offset < total).slice(0, 1) : [];
  const arrived = (partial.length > 0 ? partial : waiting).map(
    ({ digest, offset, total }) =>
      `${formatBytes(offset)} of ${formatBytes(total)} of layer ${digest.replace(/^sha256:/, "").slice(0, 12)}`,
  );
  const after = arrived.length > 0 ? ` after ${arrived.join(", ")}` : "";
  return `pulling ${reference}: no progress, the registry${registry ? ` ${registry}` : ""} sent nothing for ${timeoutMs / 1_000} s${after}; check that it is up and reachable`;
}
