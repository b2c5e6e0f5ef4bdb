// The virtual list. Its own types are React's; here is what we use of it.

import type { ComponentChildren, ComponentType, Ref } from "preact";
import { VList, type VListHandle } from "virtua";

export type ListHandle = VListHandle;

type Props = {
  ref?: Ref<VListHandle>;
  class?: string;
  shift?: boolean;
  onScroll?: (offset: number) => void;
  children: ComponentChildren;
};

export const List = VList as unknown as ComponentType<Props>;
