/// A secret could not be read from where it is kept.
package struct SecretUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
    /// The place and what is wrong with it; never the value.
    package let description: String
}
