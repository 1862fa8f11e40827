/** Parent of every value JSON has no form for, so that one test tells them from plain JSON objects. */
export abstract class CelBox {
  // A private member keeps plain objects from being taken for boxes by the type checker.
  declare protected readonly box: true
}
