// For `ref`: a field that comes up where a button was pressed has the keyboard.

export function focused(field: HTMLElement | null): void {
  field?.focus();
}
