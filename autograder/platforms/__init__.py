"""What learning platforms hand out and take back as files: submissions, class lists, lists of grades.

==============  =======================================================================================
module          about
==============  =======================================================================================
`patterns`      how platforms name the files of a download, and how a course says that of its own
`people`        who of the class list is meant by what a file's name, a list or a platform calls somebody
`csvfiles`      CSV files of platforms, whatever their encoding, separators and language
`classlists`    class lists of Moodle, Canvas and HISinOne, and the course's own with further columns
`worksheets`    Moodle's grading worksheet: who is who there, when they handed in, and their grades
`gradebooks`    Canvas's gradebook: which of its rows are students, and which column is an assignment's
`gradescope`    what Gradescope's export says of its submissions
`sources`       what students handed in, found in one download or folder
`laying`        attempts laid into the course's folders, each whole or not at all
==============  =======================================================================================
"""
