/// Which source of a configuration reads stdin: one at most can.
final class StandardInputClaim {
    /// Where the first of them says so.
    var holder: YAMLValue?
}
