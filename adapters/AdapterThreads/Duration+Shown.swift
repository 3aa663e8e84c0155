extension Duration {
    /// In seconds with one digit behind the point, for people.
    package var shownInSeconds: String {
        let tenths = components.seconds * 10 + components.attoseconds / 100_000_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
