import Foundation

/// Test vectors outside the repository, in the folder that `SIGNALBOX_CORPORA` names.
public enum Corpus {
    private struct File<Case: Decodable>: Decodable { let cases: [Case] }

    /// Returns the cases of a corpus.
    ///
    /// - Parameters:
    ///   - name: The file's name in the folder.
    ///   - type: The type of each element of the file's `cases`.
    /// - Returns: `nil`, with a note on standard output, if the environment names no folder. A test then uses only the
    ///   vectors of the repository.
    /// - Throws: An error of Foundation if the folder has no such file, or its cases are of another type.
    public static func cases<Case: Decodable>(_ name: String, of type: Case.Type = Case.self) throws -> [Case]? {
        guard let folder = ProcessInfo.processInfo.environment["SIGNALBOX_CORPORA"] else {
            print("skipped \(name): SIGNALBOX_CORPORA is not set")
            return nil
        }
        let file = URL(fileURLWithPath: folder).appendingPathComponent(name)
        return try JSONDecoder().decode(File<Case>.self, from: Data(contentsOf: file)).cases
    }
}
