import SignalboxCore

/// Compares what two readers make of a document, and says by which intended differences they differ.
struct DocumentComparison<Value: Equatable> {
    /// `nil` when it refuses.
    let foundation: ([UInt8]) -> Value?
    let signalbox: ([UInt8]) throws(BodyError) -> Value
    /// Whether a reader with this answer may have passed over a value that is no JSON.
    let isLazy: Bool

    /// - Returns: no difference when both agree, `nil` when they differ by something that is not intended.
    func differences(_ document: [UInt8], mostRepairs: Int = 40) -> [IntendedDifference]? {
        let theirs = foundation(document)
        let repair: DocumentRepair?
        do throws(BodyError) {
            let ours = try signalbox(document)
            guard theirs != ours else { return [] }
            repair = theirs == nil ? DocumentRepair.accepted(document) : DocumentRepair.differing(document)
        } catch {
            guard theirs != nil else { return [] }
            let known = DocumentRepair.refused(document, because: error)
            repair = known ?? (isLazy ? DocumentRepair.unasked(document, because: error) : nil)
        }
        guard let repair, mostRepairs > 0, repair.document != document else { return nil }
        return differences(repair.document, mostRepairs: mostRepairs - 1).map { [repair.difference] + $0 }
    }
}

extension DocumentComparison<JSONForm> {
    /// `JSONSerialization` and the reader.
    static var trees: DocumentComparison {
        DocumentComparison(foundation: JSONForm.foundation, signalbox: JSONForm.signalbox, isLazy: false)
    }
}
